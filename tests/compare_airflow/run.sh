#!/bin/sh
# Let Airflow, in an environment of its own, decide random dags, then compare: run.sh PYTHON FOLDER [SEED].
set -eu
python=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
seed=${3:-1}
if [ ! -x "$folder/venv/bin/airflow" ]; then
    echo "Installing Airflow into $folder/venv"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install -qq --disable-pip-version-check -r requirements/airflow.txt
fi
export AIRFLOW_HOME="$folder/home" AIRFLOW__CORE__LOAD_EXAMPLES=False AIRFLOW__LOGGING__LOGGING_LEVEL=ERROR
"$folder/venv/bin/airflow" db migrate >"$folder/migrate.log" 2>&1
for kind in plain:2500 setups:1500 mapped:1500 groups:1500; do
    echo "Airflow decides ${kind#*:} dags: ${kind%:*}"
    "$folder/venv/bin/python" -W ignore tests/compare_airflow/record.py \
        "$folder/${kind%:*}.jsonl" "${kind%:*}" "${kind#*:}" "$seed"
done
exec "$python" -m tests.compare_airflow.compare \
    "$folder/plain.jsonl" "$folder/setups.jsonl" "$folder/mapped.jsonl" "$folder/groups.jsonl"

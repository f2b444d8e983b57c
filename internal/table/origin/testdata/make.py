"""Writes patients in all formats, the same records, with pyarrow and sqlite3: python make.py"""
import datetime
import decimal
import os
import sqlite3
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

table = pa.table({
    "age": pa.array([34, None, 71, 18, 90], pa.int32()),
    "count": pa.array([0, 7, 9007199254740993, 2, 3], pa.int64()),
    "pressure": pa.array([120.5, 1e-3, None, -0.1, 99.99999999999999], pa.float64()),
    "dose": pa.array([decimal.Decimal(x) for x in ["1.25", "-0.05", "10.00", "0.00", "7.10"]], pa.decimal128(9, 2)),
    "treated": pa.array([True, False, None, True, True]),
    "born": pa.array([datetime.date(1990, 5, 17), datetime.date(1969, 12, 31), None, datetime.date(2006, 2, 28), datetime.date(1970, 1, 1)]),
    "site": pa.array(["north", "south, west", "north", "Zürich", None]).dictionary_encode(),
    "visits": pa.array([[1], [], [2, 3], [], []]),
    "seen": pa.array([datetime.datetime(2020, 1, 1)] * 5),
})
table = table.set_column(1, "count", table["count"].cast(pa.uint64()))
pq.write_table(table, "patients.parquet", row_group_size=2, data_page_size=64, store_decimal_as_integer=True)
plain = table.drop(["visits", "seen"])
plain = plain.set_column(plain.schema.get_field_index("site"), "site", plain["site"].cast(pa.string()))
plain = plain.set_column(plain.schema.get_field_index("dose"), "dose", plain["dose"].cast(pa.string()))
pyarrow.csv.write_csv(plain, "patients.csv", pyarrow.csv.WriteOptions(quoting_style="needed"))

with pa.OSFile("patients.arrow", "wb") as f, pa.ipc.new_file(f, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as w:
    w.write_table(table, max_chunksize=2)
with pa.OSFile("patients.arrows", "wb") as f, pa.ipc.new_stream(f, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as w:
    w.write_table(table, max_chunksize=2)

if os.path.exists("patients.sqlite"):
    os.remove("patients.sqlite")
base = sqlite3.connect("patients.sqlite")
base.execute("create table patients (age integer, count integer, pressure real, dose text, treated text, born date, site text)")
for row in plain.to_pylist():
    row["treated"] = None if row["treated"] is None else str(row["treated"]).lower()
    row["born"] = None if row["born"] is None else row["born"].isoformat()
    base.execute("insert into patients values (:age, :count, :pressure, :dose, :treated, :born, :site)", row)
base.commit()
base.close()

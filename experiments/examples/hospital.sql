-- A made-up database of a hospital, with the records that sim deal wrote for client-1. A tenth of the
-- admissions are of December 2024:
--
--   sqlite3 hospital.sqlite < experiments/examples/hospital.sql
.import --csv records/client-1.csv dealt
CREATE TABLE admissions (
  admission_id INTEGER PRIMARY KEY, admitted DATE, age INTEGER, sex TEXT, ward TEXT, stay INTEGER
);
INSERT INTO admissions (admitted, age, sex, ward, stay)
SELECT date('2024-12-01', (rowid % 310) || ' days'), age, sex, ward, stay FROM dealt;
DROP TABLE dealt;

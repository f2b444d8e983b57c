-- The order of the rows must be the same in every run.
SELECT age, sex, ward, stay
FROM admissions
WHERE admitted BETWEEN '2025-01-01' AND '2025-12-31'
ORDER BY admission_id

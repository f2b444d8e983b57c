// score ~ log(bmi) + I(age^2) + sqrt(dose) + I((age > 65) * dose) + I(grade == "IV"), family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] bmi;
  vector[N] age;
  vector[N] dose;
  vector[N] grade_IV;
}
parameters {
  real Intercept;
  real b_log_bmi;
  real b_I_age_2;
  real b_sqrt_dose;
  real b_I_age_65_dose;
  real b_I_grade_IV;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_log_bmi ~ normal(0, 216);
  b_I_age_2 ~ normal(0, 0.0254);
  b_sqrt_dose ~ normal(0, 30.8);
  b_I_age_65_dose ~ normal(0, 2.32);
  b_I_grade_IV ~ normal(0, 72.2);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = Intercept
      + b_log_bmi * (log(bmi[n]) - 3.43035)
      + b_I_age_2 * (age[n] ^ 2 - 4055.14)
      + b_sqrt_dose * (sqrt(dose[n]) - 6.69279)
      + b_I_age_65_dose * ((age[n] > 65) * dose[n] - 21.4125)
      + b_I_grade_IV * grade_IV[n];
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// bmi is bmi 
// age is age 
// dose is dose 
// grade_IV is grade IV
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_log_bmi ~ normal(0, 216): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 0.334, the spread of log(bmi)
// b_I_age_2 ~ normal(0, 0.0254): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 2.84e+03, the spread of I(age^2)
// b_sqrt_dose ~ normal(0, 30.8): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 2.34, the spread of sqrt(dose)
// b_I_age_65_dose ~ normal(0, 2.32): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 31.1, the spread of I((age>65)*dose)
// b_I_grade_IV ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)

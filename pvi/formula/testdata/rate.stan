// visits | rate(years) ~ smoking + (1 + age | practice), family = poisson(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] years;
  vector[N] smoking_yes;
  vector[N] age;
  array[N] int<lower=1, upper=4> practice;
}
parameters {
  real Intercept;
  real b_smoking_yes;
  real<lower=0> sd_practice_Intercept;
  real<lower=0> sd_practice_age;
  cholesky_factor_corr[2] L_practice;
  vector[4] z_practice_Intercept;
  vector[4] z_practice_age;
}
transformed parameters {
  vector[4] r_practice_Intercept = sd_practice_Intercept * (L_practice[1, 1] * z_practice_Intercept);
  vector[4] r_practice_age = sd_practice_age * (L_practice[2, 1] * z_practice_Intercept + L_practice[2, 2] * z_practice_age);
}
model {
  Intercept ~ normal(0.68, 2.5);
  b_smoking_yes ~ normal(0, 2.5);
  sd_practice_Intercept ~ student_t(3, 0, 1);
  sd_practice_age ~ student_t(3, 0, 0.0422);
  L_practice ~ lkj_corr_cholesky(2);
  z_practice_Intercept ~ std_normal();
  z_practice_age ~ std_normal();
  for (n in 1:N) {
    real mu = Intercept
      + log(years[n])
      + b_smoking_yes * smoking_yes[n]
      + r_practice_Intercept[practice[n]]
      + r_practice_age[practice[n]] * age[n];
    visits[n] ~ poisson_log(mu);
  }
}
// visits is visits 
// years is years 
// smoking_yes is smoking yes
// age is age 
// practice is practice 
// Intercept ~ normal(0.68, 2.5): the middle of log visits within its bounds
// b_smoking_yes ~ normal(0, 2.5): 2.5 on the log scale
// sd_practice_Intercept ~ student_t(3, 0, 1): half of a Student t with scale 1 on the log scale
// sd_practice_age ~ student_t(3, 0, 0.0422): half of a Student t with scale 1 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// L_practice ~ lkj_corr_cholesky(2): correlations of effects are likely to be small
// z_practice_Intercept ~ std_normal(): effects of 4 levels in units of sd_practice_Intercept
// z_practice_age ~ std_normal(): effects of 4 levels in units of sd_practice_age

// sick ~ age + smoking + (1 | practice), family = bernoulli(logit)
data {
  int<lower=0> N;
  array[N] int<lower=0, upper=1> sick;
  vector[N] age;
  vector[N] smoking_yes;
  array[N] int<lower=1, upper=4> practice;
}
parameters {
  real Intercept;
  real b_age;
  real b_smoking_yes;
  real<lower=0> sd_practice_Intercept;
  vector[4] r_practice_Intercept;
}
model {
  Intercept ~ normal(0, 2.5);
  b_age ~ normal(0, 0.106);
  b_smoking_yes ~ normal(0, 2.5);
  sd_practice_Intercept ~ student_t(3, 0, 1);
  r_practice_Intercept ~ normal(0, sd_practice_Intercept);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n]
      + r_practice_Intercept[practice[n]];
    sick[n] ~ bernoulli_logit(mu);
  }
}
// sick is sick yes
// age is age 
// smoking_yes is smoking yes
// practice is practice 
// Intercept ~ normal(0, 2.5): 2.5 on the logit scale
// b_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 2.5): 2.5 on the logit scale
// sd_practice_Intercept ~ student_t(3, 0, 1): half of a Student t with scale 1 on the logit scale
// r_practice_Intercept ~ normal(0, sd_practice_Intercept): effects of 4 levels

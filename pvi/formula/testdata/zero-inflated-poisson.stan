// visits ~ age, zi ~ smoking, family = zero_inflated_poisson(log)
data {
  int<lower=0> N;
  array[N] int<lower=0> visits;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real Intercept_zi;
  real b_zi_smoking_yes;
}
model {
  Intercept ~ normal(1.35, 2.5);
  b_age ~ normal(0, 0.106);
  Intercept_zi ~ normal(0, 2.5);
  b_zi_smoking_yes ~ normal(0, 2.5);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    real zi_eta = Intercept_zi
      + b_zi_smoking_yes * smoking_yes[n];
    real zi = inv_logit(zi_eta);
    target += visits[n] == 0 ? log_sum_exp(log(zi), log1m(zi) + (-exp(mu))) : log1m(zi) + poisson_log_lpmf(visits[n] | mu);
  }
}
// visits is visits 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(1.35, 2.5): the middle of log visits within its bounds
// b_age ~ normal(0, 0.106): 2.5 on the log scale, over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_zi ~ normal(0, 2.5): 2.5 on the logit scale
// b_zi_smoking_yes ~ normal(0, 2.5): 2.5 on the logit scale

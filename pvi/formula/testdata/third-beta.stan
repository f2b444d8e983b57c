// share ~ age, family = Beta(logit)
data {
  int<lower=0> N;
  vector[N] share;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> phi;
}
model {
  Intercept ~ normal(0, 2.5);
  b_age ~ normal(0, 0.106);
  phi ~ lognormal(1.1, 1.61);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    share[n] ~ beta(phi * inv_logit(mu), phi * inv_logit(-mu));
  }
}
// share is share 
// age is age 
// Intercept ~ normal(0, 2.5): 2.5 on the logit scale
// b_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// phi ~ lognormal(1.1, 1.61): median 3; one sd is a factor of 5

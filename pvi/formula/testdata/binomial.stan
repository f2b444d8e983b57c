// hits | trials(trials) ~ age, family = binomial(logit)
data {
  int<lower=0> N;
  array[N] int<lower=0> hits;
  array[N] int<lower=12> trials;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
}
model {
  Intercept ~ normal(0, 2.5);
  b_age ~ normal(0, 0.106);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    hits[n] ~ binomial_logit(trials[n], mu);
  }
}
// hits is hits 
// trials is trials 
// age is age 
// Intercept ~ normal(0, 2.5): 2.5 on the logit scale
// b_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)

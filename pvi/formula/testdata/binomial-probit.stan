// hits | trials(20) ~ smoking, family = binomial(probit)
data {
  int<lower=0> N;
  array[N] int<lower=0> hits;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_smoking_yes;
}
model {
  Intercept ~ normal(0, 2.5);
  b_smoking_yes ~ normal(0, 2.5);
  for (n in 1:N) {
    real mu = Intercept
      + b_smoking_yes * smoking_yes[n];
    hits[n] ~ binomial(20, Phi(mu));
  }
}
// hits is hits 
// smoking_yes is smoking yes
// Intercept ~ normal(0, 2.5): 2.5 on the probit scale
// b_smoking_yes ~ normal(0, 2.5): 2.5 on the probit scale

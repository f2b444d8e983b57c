// share ~ age, phi ~ smoking, family = Beta(logit)
data {
  int<lower=0> N;
  vector[N] share;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real Intercept_phi;
  real b_phi_smoking_yes;
}
model {
  Intercept ~ normal(0, 2.5);
  b_age ~ normal(0, 0.106);
  Intercept_phi ~ normal(0, 2.5);
  b_phi_smoking_yes ~ normal(0, 2.5);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    real phi_eta = Intercept_phi
      + b_phi_smoking_yes * smoking_yes[n];
    real phi = exp(phi_eta);
    share[n] ~ beta(phi * inv_logit(mu), phi * inv_logit(-mu));
  }
}
// share is share 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(0, 2.5): 2.5 on the logit scale
// b_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_phi ~ normal(0, 2.5): 2.5 on the log scale
// b_phi_smoking_yes ~ normal(0, 2.5): 2.5 on the log scale

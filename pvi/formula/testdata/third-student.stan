// pressure ~ age, sigma ~ smoking, family = student(identity)
data {
  int<lower=0> N;
  vector[N] pressure;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real Intercept_sigma;
  real b_sigma_smoking_yes;
  real<lower=1> nu;
}
model {
  Intercept ~ normal(130, 50);
  b_age ~ normal(0, 0.845);
  Intercept_sigma ~ normal(1.94, 1.39);
  b_sigma_smoking_yes ~ normal(0, 1);
  nu ~ gamma(2, 0.1);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    real sigma_eta = Intercept_sigma
      + b_sigma_smoking_yes * smoking_yes[n];
    real sigma = exp(sigma_eta);
    pressure[n] ~ student_t(nu, mu, sigma);
  }
}
// pressure is pressure 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(130, 50): middle and 2.5 spreads of pressure
// b_age ~ normal(0, 0.845): 20, the spread of pressure (the column's spread), over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_sigma ~ normal(1.94, 1.39): 1.39 on the log scale
// b_sigma_smoking_yes ~ normal(0, 1): 1 on the log scale
// nu ~ gamma(2, 0.1): weakly informative, mean 20

// score ~ age, sigma ~ smoking, family = student(identity)
data {
  int<lower=0> N;
  vector[N] score;
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
  Intercept ~ normal(0, 72.2);
  b_age ~ normal(0, 3.05);
  Intercept_sigma ~ normal(3.36, 2.5);
  b_sigma_smoking_yes ~ normal(0, 2.5);
  nu ~ gamma(2, 0.1);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    real sigma_eta = Intercept_sigma
      + b_sigma_smoking_yes * smoking_yes[n];
    real sigma = exp(sigma_eta);
    score[n] ~ student_t(nu, mu, sigma);
  }
}
// score is score 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// Intercept_sigma ~ normal(3.36, 2.5): 2.5 on the log scale
// b_sigma_smoking_yes ~ normal(0, 2.5): 2.5 on the log scale
// nu ~ gamma(2, 0.1): weakly informative, mean 20

// paid ~ age, family = hurdle_lognormal(identity)
data {
  int<lower=0> N;
  vector[N] paid;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> sigma;
  real<lower=0, upper=1> hu;
}
model {
  Intercept ~ normal(5.06, 4.99);
  b_age ~ normal(0, 0.211);
  sigma ~ student_t(3, 0, 1.99);
  hu ~ beta(1, 1);
  for (n in 1:N) {
    real above = paid[n] > 0 ? paid[n] : 1.0;
    real mu = Intercept
      + b_age * (age[n] - 59);
    target += paid[n] == 0 ? log(hu) : log1m(hu) + lognormal_lpdf(above | mu, sigma);
  }
}
// paid is paid 
// age is age 
// Intercept ~ normal(5.06, 4.99): middle and 2.5 spreads of log paid
// b_age ~ normal(0, 0.211): 2.5 times 1.99, the spread of log paid, over 23.7, the spread of age (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 1.99): half of a Student t with scale 1.99, the spread of log paid
// hu ~ beta(1, 1): uniform

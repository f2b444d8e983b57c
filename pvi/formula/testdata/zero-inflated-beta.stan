// part ~ age, family = zero_inflated_beta(logit)
data {
  int<lower=0> N;
  vector[N] part;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> phi;
  real<lower=0, upper=1> zi;
}
model {
  Intercept ~ normal(0, 2.5);
  b_age ~ normal(0, 0.106);
  phi ~ gamma(2, 0.1);
  zi ~ beta(1, 1);
  for (n in 1:N) {
    real above = part[n] > 0 ? part[n] : 0.5;
    real mu = Intercept
      + b_age * (age[n] - 59);
    target += part[n] == 0 ? log(zi) : log1m(zi) + beta_lpdf(above | phi * inv_logit(mu), phi * inv_logit(-mu));
  }
}
// part is part 
// age is age 
// Intercept ~ normal(0, 2.5): 2.5 on the logit scale
// b_age ~ normal(0, 0.106): 2.5 on the logit scale, over 23.7, the spread of age (half the width of the bounds over √3)
// phi ~ gamma(2, 0.1): weakly informative, mean 20
// zi ~ beta(1, 1): uniform

// score | trunc(lb = -60, ub = 60) ~ age, family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_age ~ normal(0, 3.05);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = Intercept
      + b_age * (age[n] - 59);
    score[n] ~ normal(mu, sigma) T[-60, 60];
  }
}
// score is score 
// age is age 
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of age (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)

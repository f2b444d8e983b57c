// score ~ poly(age, 3) + scale(pressure) + factor(dead), family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  vector[N] pressure;
  vector[N] dead;
}
parameters {
  real Intercept;
  real b_poly_age_1;
  real b_poly_age_2;
  real b_poly_age_3;
  real b_scale_pressure;
  real b_dead_1;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_poly_age_1 ~ normal(0, 72.2);
  b_poly_age_2 ~ normal(0, 72.2);
  b_poly_age_3 ~ normal(0, 72.2);
  b_scale_pressure ~ normal(0, 72.2);
  b_dead_1 ~ normal(0, 72.2);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real age_t = (age[n] - 59) / 41.0;
    real mu = Intercept
      + b_poly_age_1 * (sqrt(3) * age_t)
      + b_poly_age_2 * (sqrt(5) * (1.5 * age_t^2 - 0.5))
      + b_poly_age_3 * (sqrt(7) * (2.5 * age_t^3 - 1.5 * age_t))
      + b_scale_pressure * ((pressure[n] - 130) / 20.0)
      + b_dead_1 * (dead[n] == 1);
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// pressure is pressure 
// dead is dead 
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_poly_age_1 ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_poly_age_2 ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_poly_age_3 ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_scale_pressure ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_dead_1 ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)

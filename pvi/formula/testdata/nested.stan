// score ~ region/smoking, family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] region_south;
  vector[N] region_north;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_region_south;
  real b_region_north_x_smoking_yes;
  real b_region_south_x_smoking_yes;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_region_south ~ normal(0, 72.2);
  b_region_north_x_smoking_yes ~ normal(0, 72.2);
  b_region_south_x_smoking_yes ~ normal(0, 72.2);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    real mu = Intercept
      + b_region_south * region_south[n]
      + b_region_north_x_smoking_yes * (region_north[n] * smoking_yes[n])
      + b_region_south_x_smoking_yes * (region_south[n] * smoking_yes[n]);
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// region_south is region south
// region_north is region north
// smoking_yes is smoking yes
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_region_south ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_region_north_x_smoking_yes ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// b_region_south_x_smoking_yes ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)

// score ~ s(age, k = 5) + smoking, family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_s_age;
  real b_smoking_yes;
  real<lower=0> sds_age;
  vector[5] s_age;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(0, 72.2);
  b_s_age ~ normal(0, 3.05);
  b_smoking_yes ~ normal(0, 72.2);
  sds_age ~ student_t(3, 0, 28.9);
  s_age ~ normal(0, sds_age);
  sigma ~ student_t(3, 0, 28.9);
  for (n in 1:N) {
    vector[5] basis_age;
    for (j in 1:5)
      basis_age[j] = sqrt(2) * cos(pi() * j * (age[n] - 18) / 82.0) / (1.0 * j * j);
    real mu = Intercept
      + b_s_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n]
      + dot_product(basis_age, s_age);
    score[n] ~ normal(mu, sigma);
  }
}
// score is score 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(0, 72.2): middle and 2.5 spreads of score
// b_s_age ~ normal(0, 3.05): 2.5 times 28.9, the spread of score (half the width of the bounds over √3), over 23.7, the spread of s_age (half the width of the bounds over √3)
// b_smoking_yes ~ normal(0, 72.2): 2.5 times 28.9, the spread of score (half the width of the bounds over √3)
// sds_age ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)
// s_age ~ normal(0, sds_age): coefficients of the curve s(age,k=5)
// sigma ~ student_t(3, 0, 28.9): half of a Student t with scale 28.9, the spread of score (half the width of the bounds over √3)

// time | cens(1 - dead) ~ age + smoking, family = weibull(log)
data {
  int<lower=0> N;
  vector[N] time;
  vector[N] dead;
  vector[N] age;
  vector[N] smoking_yes;
}
parameters {
  real Intercept;
  real b_age;
  real b_smoking_yes;
  real<lower=0> shape;
}
model {
  Intercept ~ normal(2.65, 2.5);
  b_age ~ student_t(4, 0, 0.05);
  b_smoking_yes ~ normal(0, 1);
  shape ~ lognormal(0, 0.5);
  for (n in 1:N) {
    real censored = 1 - dead[n];
    real mu = Intercept
      + b_age * (age[n] - 59)
      + b_smoking_yes * smoking_yes[n];
    if (censored == 1)
      target += weibull_lccdf(time[n] | shape, exp(mu - lgamma(1 + 1 / shape)));
    else
      time[n] ~ weibull(shape, exp(mu - lgamma(1 + 1 / shape)));
  }
}
// time is time 
// dead is dead 
// age is age 
// smoking_yes is smoking yes
// Intercept ~ normal(2.65, 2.5): the middle of log time within its bounds
// b_age ~ student_t(4, 0, 0.05): prior.b_age of the study
// b_smoking_yes ~ normal(0, 1): prior.b of the study
// shape ~ lognormal(0, 0.5): prior.shape of the study

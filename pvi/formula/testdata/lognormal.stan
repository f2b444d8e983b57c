// time | cens(status, upper) ~ age, family = lognormal(identity)
data {
  int<lower=0> N;
  vector[N] time;
  vector[N] status_right;
  vector[N] status_left;
  vector[N] status_interval;
  vector[N] upper_2;
  vector[N] age;
}
parameters {
  real Intercept;
  real b_age;
  real<lower=0> sigma;
}
model {
  Intercept ~ normal(2.65, 4.82);
  b_age ~ normal(0, 0.204);
  sigma ~ student_t(3, 0, 1.93);
  for (n in 1:N) {
    real censored = status_right[n] - status_left[n] + 2 * status_interval[n];
    real mu = Intercept
      + b_age * (age[n] - 59);
    if (censored == 1)
      target += lognormal_lccdf(time[n] | mu, sigma);
    else if (censored == -1)
      target += lognormal_lcdf(time[n] | mu, sigma);
    else if (censored == 2)
      target += log_diff_exp(lognormal_lcdf(upper_2[n] | mu, sigma), lognormal_lcdf(time[n] | mu, sigma));
    else
      time[n] ~ lognormal(mu, sigma);
  }
}
// time is time 
// status_right is status right
// status_left is status left
// status_interval is status interval
// upper_2 is upper 
// age is age 
// Intercept ~ normal(2.65, 4.82): middle and 2.5 spreads of log time
// b_age ~ normal(0, 0.204): 2.5 times 1.93, the spread of log time, over 23.7, the spread of age (half the width of the bounds over √3)
// sigma ~ student_t(3, 0, 1.93): half of a Student t with scale 1.93, the spread of log time

// score ~ z + (1 + z | g), family = gaussian(identity)
data {
  int<lower=0> N;
  vector[N] score;
  vector[N] z;
  array[N] int<lower=1, upper=3> g;
}
parameters {
  real Intercept;
  real b_z;
  real<lower=0> sd_g_Intercept;
  real<lower=0> sd_g_z;
  cholesky_factor_corr[2] L_g;
  vector[3] z_g_Intercept;
  vector[3] z_g_z;
  real<lower=0> sigma;
}
transformed parameters {
  vector[3] r_g_Intercept = sd_g_Intercept * (L_g[1, 1] * z_g_Intercept);
  vector[3] r_g_z = sd_g_z * (L_g[2, 1] * z_g_Intercept + L_g[2, 2] * z_g_z);
}
model {
  Intercept ~ normal(0, 7.22);
  b_z ~ normal(0, 4.17);
  sd_g_Intercept ~ student_t(3, 0, 2.89);
  sd_g_z ~ student_t(3, 0, 1.67);
  L_g ~ lkj_corr_cholesky(2);
  z_g_Intercept ~ std_normal();
  z_g_z ~ std_normal();
  sigma ~ student_t(3, 0, 2.89);
  for (n in 1:N) {
    real mu = Intercept
      + b_z * z[n]
      + r_g_Intercept[g[n]]
      + r_g_z[g[n]] * z[n];
    score[n] ~ normal(mu, sigma);
  }
}
generated quantities {
  vector[3] effect_g_Intercept = r_g_Intercept;
  vector[3] effect_g_z = r_g_z;
}

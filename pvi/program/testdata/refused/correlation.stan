// E301 at 9:3
data {
  int N;
  vector[N] x;
  vector[N] z;
}
parameters {
  real a;
  cholesky_factor_corr[2] L;
}
model {
  a ~ normal(0, 1);
  x ~ normal(a + L[2, 1] * z, 1);
}

// E204 at 11:3
data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  array[N] simplex[2] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N) k[n] ~ poisson_log(a + s * e[n, 1]);
}

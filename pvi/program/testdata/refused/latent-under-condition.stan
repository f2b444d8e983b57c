// E204 at 17:20
data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  vector[N] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N) {
    if (g[n] == 1) e[n] ~ normal(0, s);
    k[n] ~ poisson_log(a + e[n]);
  }
}

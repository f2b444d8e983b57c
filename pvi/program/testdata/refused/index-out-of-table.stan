// E310 at 19:21
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
  int J;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  vector[J] v;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N)
    x[n] ~ normal(v[g[n]], s);
  v ~ normal(0, 1);
}

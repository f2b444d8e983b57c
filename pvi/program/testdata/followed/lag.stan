data {
  int N;
  int T;
  array[N, T] real w;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N)
    for (t in 2:T)
      w[n, t] ~ normal(a * w[n, t - 1], s);
}

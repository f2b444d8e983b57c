// E201 at 16:9
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N)
    if (n > 100)
      x[n] ~ normal(a, s);
}

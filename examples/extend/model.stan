// The effect of a dose rises to a plateau, and has half of its height at the dose half.
data {
  int N;
  vector[N] dose;
  vector[N] effect;
}
parameters {
  real plateau;
  real<lower=0> half;
}
model {
  plateau ~ normal(0, 5);
  half ~ lognormal(0, 1);
  for (n in 1:N)
    effect[n] ~ normal(plateau * dose[n] / (half + dose[n]), 0.5);
}

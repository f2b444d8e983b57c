// A person has several visits: the person is the record.
data {
  int N;
  int T;
  int J;
  array[N, T] real y;
  array[N, T] int<lower=0, upper=1> seen;
  array[N] int<lower=1, upper=J> site;
  array[N] int<lower=1, upper=4> grade;
}
parameters {
  matrix[J, T] level;
  real<lower=-1, upper=1> rho;
  real<lower=0> sigma;
  ordered[3] cut;
  vector[4] odds;
}
model {
  to_vector(level) ~ normal(0, 1);
  rho ~ uniform(-1, 1);
  sigma ~ normal(0, 1);
  cut ~ normal(0, 2);
  odds ~ normal(0, 1);
  for (n in 1:N) {
    y[n, 1] ~ normal(level[site[n], 1], sigma);
    for (t in 2:T) {
      if (seen[n, t] == 1)
        y[n, t] ~ normal(level[site[n], t] + rho * (y[n, t - 1] - level[site[n], t - 1]), sigma);
    }
    grade[n] ~ ordered_logistic(rho * y[n, 1], cut);
    grade[n] ~ categorical_logit(odds);
    target += sum(softmax(odds)[1:2]) + log_softmax(odds)[3] + 0.1 * dot_product(odds, [1, 2, 3, 4]');
    target += 0.1 * odds[grade[n]] + mean(cut) + dot_self(to_vector(y[n, 1:2])) * rho * 0.01;
  }
}

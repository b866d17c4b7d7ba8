// What every benchmark is told.

/** What a benchmark can be told. */
export interface BenchOptions {
  /** Datasets (publish, noop, workers: one in 25, web: a hundred items each). */
  datasets: number;
  /** Requests at once. */
  concurrency: number;
  /** Size of the large file in megabytes (upload, check). */
  megabytes: number;
  /** Rounds of the baseline comparison; medians are shown. */
  rounds: number;
}

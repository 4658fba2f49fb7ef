/** A promise, with the functions that end it. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve (value: T | PromiseLike<T>): void
  reject (reason: unknown): void
}

export function deferred<T> (): Deferred<T> {
  let resolve!: Deferred<T>['resolve']
  let reject!: Deferred<T>['reject']
  const promise = new Promise<T>((...functions) => { [resolve, reject] = functions })
  return { promise, resolve, reject }
}

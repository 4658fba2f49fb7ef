/**
 * What the memories of a program may take together, in bytes: three quarters of what a script may use. The rest is for
 * the code around it. So a program that asks for too much is told so, and is not ended.
 * @param heap_bytes_max the setting `execution.heap_bytes_max`
 */
export function memoryBytesMax (heap_bytes_max: number): number {
  return Math.floor(heap_bytes_max * 3 / 4)
}

/** The memory of an instance. Its buffer is another one whenever it has grown. */
export interface WasmMemory { readonly buffer: ArrayBuffer }
/** A compiled module. */
export interface WasmModule { readonly [Symbol.toStringTag]?: string }
interface External { name: string, kind: string }

/** The used part of WebAssembly's interface; TypeScript declares it only in its library for browsers. */
declare const WebAssembly: {
  compile (bytes: Uint8Array): Promise<WasmModule>
  Module: {
    new (bytes: Uint8Array): WasmModule
    imports (module: WasmModule): (External & { module: string })[]
    exports (module: WasmModule): External[]
  }
  Instance: new (module: WasmModule, imports: object) => { readonly exports: Readonly<Record<string, unknown>> }
  Memory: new (limits: { initial: number }) => WasmMemory
  RuntimeError: new (message?: string) => Error
}

export const { compile, Module, Instance, Memory, RuntimeError } = WebAssembly

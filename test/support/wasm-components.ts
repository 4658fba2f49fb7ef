/** A module, from its text. */
export async function parse (wat: string): Promise<Uint8Array> {
  const { parse } = await import('@bytecodealliance/jco-transpile/wasm-tools') // an optional dependency
  return await parse(wat)
}

/** A component, from its interface and from its core module as text. */
export async function componentOf (witSource: string, wat: string): Promise<Uint8Array> {
  const { componentEmbed, componentNew } = await import('@bytecodealliance/jco-transpile/wasm-tools')
  return await componentNew(await componentEmbed({ binary: await parse(wat), witSource, stringEncoding: 'utf8' }), [])
}

/** The world of the Skill Engine's skills. */
export const engineWit = (validates = 'config: string'): string => `package skill-engine:skill@1.0.0;
world skill {
  import get-config: func(key: string) -> option<string>;
  import get-all-config: func() -> list<tuple<string, string>>;
  export get-metadata: func() -> string;
  export get-tools: func() -> string;
  export execute-tool: func(tool-name: string, args: string) -> string;
  export validate-config: func(${validates}) -> string;
}
`

const metadata = '{"name":"wasm-echo","version":"2.0.0","description":"A component"}'
const parameters = '[{"name":"text","paramType":"string","description":"A text","required":true}]'
const tools = `[${['echo', 'setting', 'count', 'trap', 'loop'].map(name =>
  `{"name":"${name}","description":"Do ${name}","parameters":${parameters}}`).join(',')}]`
const refusal = '{"err":"the settings are bad"}'
const quoted = (text: string): string => text.replaceAll('"', '\\22')

/**
 * A skill of the Skill Engine as text. `echo` returns its arguments; `setting` the setting `region`; `count` how often
 * this instance was called; `trap` traps; `loop` never ends. It refuses settings of less than four bytes.
 */
export const engineWat = (validate = '(param $at i32) (param $length i32)', body = ''): string => `(module
  (import "$root" "get-config" (func $get_config (param i32 i32 i32)))
  (import "$root" "get-all-config" (func $all (param i32)))
  (memory (export "memory") 2)
  (global $top (mut i32) (i32.const 65536))
  (global $calls (mut i32) (i32.const 48))
  (data (i32.const 256) "${quoted(metadata)}")
  (data (i32.const 1024) "${quoted(tools)}")
  (data (i32.const 4096) "${quoted(refusal)}")
  (data (i32.const 5120) "region")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func $text (param $at i32) (param $length i32) (result i32)
    (i32.store (i32.const 8) (local.get $at))
    (i32.store (i32.const 12) (local.get $length))
    (i32.const 8))
  (func (export "get-metadata") (result i32) (call $text (i32.const 256) (i32.const ${metadata.length})))
  (func (export "get-tools") (result i32) (call $text (i32.const 1024) (i32.const ${tools.length})))
  (func (export "execute-tool") (param $name i32) (param $name_length i32) (param $at i32) (param $length i32) (result i32)
    (local $first i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (local.set $first (i32.load8_u (local.get $name)))
    (if (i32.eq (local.get $first) (i32.const ${'t'.charCodeAt(0)})) (then unreachable))
    (if (i32.eq (local.get $first) (i32.const ${'l'.charCodeAt(0)})) (then (loop (br 0))))
    (if (i32.eq (local.get $first) (i32.const ${'s'.charCodeAt(0)})) (then
      (call $get_config (i32.const 5120) (i32.const 6) (i32.const 64))
      (if (i32.eqz (i32.load8_u (i32.const 64))) (then (return (call $text (i32.const 5120) (i32.const 0)))))
      (return (call $text (i32.load (i32.const 68)) (i32.load (i32.const 72))))))
    (if (i32.eq (local.get $first) (i32.const ${'c'.charCodeAt(0)})) (then
      (i32.store8 (i32.const 80) (global.get $calls))
      (return (call $text (i32.const 80) (i32.const 1)))))
    (call $text (local.get $at) (local.get $length)))
  (func (export "validate-config") ${validate} (result i32) ${body}
    (call $text (i32.const 5120) (i32.const 6))))
`
/** A body of \`validate-config\` that refuses settings that hold none. */
export const refusing = `(if (i32.lt_u (local.get $length) (i32.const 4)) (then
  (return (call $text (i32.const 4096) (i32.const ${refusal.length})))))`

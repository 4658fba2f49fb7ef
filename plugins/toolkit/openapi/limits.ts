/** The largest OpenAPI document that is read, in bytes. */
export const documentBytesMax = 50 * 1_048_576
/** The largest one in YAML, in bytes: its parser is twenty times as slow as that of JSON. */
export const yamlBytesMax = 16 * 1_048_576
/** The deepest nesting of a document; deeper ones would exhaust the stack. */
export const depthMax = 256
/** The most operations of a document that become tools. */
export const operationsMax = 4_000
/** The most files that a document may refer to, in all. */
export const filesMax = 64
/** The most schemas of one tool; what lies beyond accepts any value. */
export const schemasMax = 4_000
/** How many references in a row are followed. */
export const referencesMax = 32
/** The longest description of a tool, and of a parameter or schema, in characters. */
export const toolTextMax = 1_000
export const schemaTextMax = 400

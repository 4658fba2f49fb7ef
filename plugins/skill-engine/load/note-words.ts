/** What each word of a note means, and what to do about it. */
const meanings: ReadonlyMap<string, string> = new Map(Object.entries({
  'heading-not-a-tool': 'this heading of SKILL.md can\'t be the name of a tool, so it counts as prose',
  'tool-not-in-code': 'SKILL.md describes this tool and the code does not have it, so it is not offered',
  'tool-name': 'this can\'t be the name of a tool (A-Z, a-z, 0-9, _ . -), so the tool is not offered',
  'tool-name-taken': 'an earlier tool of the skill has this name, so the later one is not offered',
  'parameter-name': 'this can\'t be the name of a parameter, so it is left out',
  'parameter-name-taken': 'an earlier parameter of the tool has this name, so the later one is left out',
  'default-dropped': 'its default does not fit its type, so it is not shown',
  'type-unknown': 'its type is not known, so it counts as a string',
  'skill-md-unreadable': 'its SKILL.md can\'t be read; its code serves without it',
  'config-unreadable': 'its settings can\'t be read; it serves without them',
  'package-unreadable': 'its package.json can\'t be read; it serves without it',
  'value-cast': 'it is written as a number or a boolean, and passed as text',
  'key-unknown': 'nobody reads this key',
  'instance-unusable': 'calls of this instance fail: a variable that it needs is not set',
  'instance-name': 'its name, in lower case and with - for other characters, is empty or taken, so it is left out',
  'secret-missing': 'set it with `skillet secret set`; until then the variable is not there',
  'runtime-unsupported': 'it is listed, and its calls fail: code of this kind is not run in place',
  'inherits-unknown': 'the tool whose parameters it takes is not there'
}))

/** A note as a warning: its word and subject, and what it means. */
export function warningOf (note: string): string {
  const meaning = meanings.get(note.split(/[: ]/, 1)[0] ?? '')
  return meaning === undefined ? note : `${note} (${meaning})`
}

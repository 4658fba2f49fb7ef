/** A fault of a skill's code, in one line that names the file. */
export class CodeFault extends Error {}

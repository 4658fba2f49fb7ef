/** The text in built code in whose place the names of the tools are put, as JSON, when they are known. */
export const toolsMark = '__SKILLET_TOOLS__'

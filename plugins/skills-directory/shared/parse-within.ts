import type { parser } from '@lezer/python'

type Parser = typeof parser
type Tree = ReturnType<Parser['parse']>

/**
 * The time limit for parsing a script, in milliseconds: a real script takes a hundredth of it, while a file that is not
 * a script may take forever.
 */
const parse_ms = 1_000
/** The number of parser steps between two checks of the time. */
const steps = 256
/**
 * The limits for the depth of a tree and for its number of nodes: code that visits each node with its parents takes the
 * product of both.
 */
const depthMax = 300
const nodesMax = 200_000

/**
 * The syntax tree of a text.
 * @throws Error when parsing takes too long, or the tree is too deep or too large
 */
export function parseWithin (parser: Pick<Parser, 'startParse'>, text: string): Tree {
  const parse = parser.startParse(text)
  const until_ms = performance.now() + parse_ms
  for (let step = 1; ; step++) {
    const tree = parse.advance()
    if (tree !== null) return refuseUnlessSmall(tree)
    if (step % steps === 0 && performance.now() > until_ms) throw new Error('the script takes too long to read')
  }
}

function refuseUnlessSmall (tree: Tree): Tree {
  let depth = 0
  let nodes = 0
  tree.iterate({
    enter: () => {
      if (++depth > depthMax || ++nodes > nodesMax)
        throw new Error('the script is nested too deeply, or too long, to read')
    },
    leave: () => {
      depth--
    }
  })
  return tree
}

import type { parser } from '@lezer/python'

type Parser = typeof parser
type Tree = ReturnType<Parser['parse']>

/**
 * How long a script may take to parse, in milliseconds: an honest one takes a hundredth, what is no script at all may
 * take for ever.
 */
const parse_ms = 1_000
/** How many steps are made between two looks at the clock. */
const steps = 256
/** How deep a tree may be, and how many nodes it may have: what looks at each in its place takes the product. */
const depthMax = 300
const nodesMax = 200_000

/** The syntax tree of a text. @throws Error when it takes too long, or is too deep or too large to be looked through */
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

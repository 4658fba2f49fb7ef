/** The URI schemes that the server uses for its own resources. */
const reserved = new Set(['skill:', 'skillet:'])

/**
 * Checks the addresses at which tools are shown as resources.
 * @throws Error naming an address that can't be used
 */
export function checkAddresses (resources: Readonly<Record<string, string>>): void {
  const seen = new Set<string>()
  for (const address of Object.keys(resources)) {
    const refuse = (why: string): never => { throw new Error(`mcp.resources: "${address}" ${why}`) }
    const plain = address.replaceAll(/\{[A-Za-z][A-Za-z0-9_-]*\}/g, '0')
    if (/[{}]/.test(plain)) refuse('has braces around something else than the name of a parameter')
    if (!URL.canParse(plain)) refuse('is not a URL')
    const { href, protocol } = new URL(plain)
    if (reserved.has(protocol)) refuse(`begins with ${protocol}//, which is the server's own`)
    if (seen.has(href)) refuse('can\'t be told from another address')
    seen.add(href)
  }
}

/** The programs that a result may name: those of the original, `psql` included. */
export const knownPrograms: readonly string[] = [
  'kubectl', 'helm', 'git', 'curl', 'jq', 'aws', 'gcloud', 'az', 'docker', 'terraform', 'psql'
]

/** Skills whose program has another name than they have. */
const programs: ReadonlyMap<string, string> = new Map([['kubernetes', 'kubectl'], ['postgres-native', 'psql']])

/** Skills that are called like their program. */
const same = new Set(['aws', 'docker', 'terraform', 'helm', 'git'])

/**
 * The programs that the results of a skill may name.
 * @param allowed the entries of `allowed-tools`, which may narrow the list and never widen it
 * @param tools the names of the skill's own tools, which may stand there too
 */
export function programsOf (
  list: readonly string[], allowed: readonly string[], tools: readonly string[]
): readonly string[] {
  const named = allowed.filter(entry => list.includes(entry) && !tools.includes(entry))
  return named.length === 0 ? list : named
}

/** The program of a skill that has no code; undefined when none is known. */
export function programOf (
  skill: string, list: readonly string[], allowed: readonly string[], tools: readonly string[]
): string | undefined {
  const known = programs.get(skill) ?? (same.has(skill) ? skill : undefined)
  return known
    ?? allowed.find(entry => list.includes(entry) && !tools.includes(entry))
    ?? (list.includes(skill) ? skill : undefined)
}

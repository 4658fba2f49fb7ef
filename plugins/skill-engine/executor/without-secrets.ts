import { secretLengthMin, type Outcome } from '../../../kernel/index.ts'
import type { RunSettings } from '../run/settings.ts'

/** The values of settings that are secret, as far as they are long enough to be recognized. */
function secretsIn ({ config, secret_keys }: RunSettings): string[] {
  return secret_keys.map(key => config[key] ?? '').filter(value => value.length >= secretLengthMin)
}

export function hasSecrets (settings: RunSettings): boolean {
  return secretsIn(settings).length > 0
}

/** What takes the values of secret settings out of a text. */
export function cleanerOf (settings: RunSettings): (text: string) => string {
  const values = secretsIn(settings)
  return text => values.reduce((text, value) => text.replaceAll(value, '[secret]'), text)
}

/**
 * An outcome without the values of settings that are secret. Those that are the server's secrets the kernel removes;
 * these stand in the skill's own files.
 */
export function withoutSecrets (outcome: Outcome, settings: RunSettings): Outcome {
  if (!hasSecrets(settings)) return outcome
  const clean = cleanerOf(settings)
  const output = clean(outcome.output)
  if (outcome.status !== 'failed') return { ...outcome, output }
  return { ...outcome, output, error: { ...outcome.error, message: clean(outcome.error.message) } }
}

import type {
  OAuthClientMetadata, OAuthClientProvider, OAuthDiscoveryState, StoredOAuthClientInformation, StoredOAuthTokens
} from '@modelcontextprotocol/client'
import { isObject, type SecretFile } from '../../../kernel/index.ts'

/** The name under which the credentials of a skill are in the user's secrets file. */
const secretName = 'MCP_OAUTH'

/** What a login left: for one URL only, so that another server never gets the tokens. */
export interface OAuthState {
  url: string
  redirect_url: string
  tokens?: StoredOAuthTokens
  client?: StoredOAuthClientInformation
  discovery?: OAuthDiscoveryState
}

/** Reads what the last login of a skill left for a URL; undefined when there was none. */
export function readOAuth (file: SecretFile, skill: string, url: string): OAuthState | undefined {
  const text = file.of(skill, [secretName]).values[secretName]
  if (text === undefined) return undefined
  try {
    const state: unknown = JSON.parse(text)
    // Only `writeOAuth` writes this secret.
    return isObject(state) && state['url'] === url
      && isObject(state['tokens']) ? state as unknown as OAuthState : undefined
  } catch {
    return undefined
  }
}

export async function writeOAuth (file: SecretFile, skill: string, state: OAuthState): Promise<void> {
  await file.set(skill, secretName, JSON.stringify(state))
}

interface OAuthOptions {
  state: OAuthState
  /** Shows the page on which the user logs in; absent where nobody can log in. */
  show?: (url: URL) => void
  /** Called with new tokens. */
  save (state: OAuthState): Promise<void>
  /** What the authorization server sends back, so that only its answer to this login counts. */
  nonce?: string
  scope?: string
}

/** The credentials of a skill, as the client's package takes them. */
export class SkillOAuth implements OAuthClientProvider {
  readonly #options: OAuthOptions
  #verifier = ''

  constructor (options: OAuthOptions) {
    this.#options = options
  }

  get redirectUrl (): string {
    return this.#options.state.redirect_url
  }

  get clientMetadata (): OAuthClientMetadata {
    const { scope } = this.#options
    return {
      client_name: 'Skillet', redirect_uris: [this.redirectUrl], response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none',
      ...(scope !== undefined && { scope })
    }
  }

  state (): string {
    return this.#options.nonce ?? ''
  }

  clientInformation (): StoredOAuthClientInformation | undefined {
    return this.#options.state.client
  }

  saveClientInformation (client: StoredOAuthClientInformation): void {
    this.#options.state.client = client
  }

  tokens (): StoredOAuthTokens | undefined {
    return this.#options.state.tokens
  }

  async saveTokens (tokens: StoredOAuthTokens): Promise<void> {
    this.#options.state.tokens = tokens
    await this.#options.save(this.#options.state)
  }

  /** At run time nobody is asked: the client's package then says that it is not authorized. */
  redirectToAuthorization (url: URL): void {
    this.#options.show?.(url)
  }

  saveCodeVerifier (verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier (): string {
    return this.#verifier
  }

  saveDiscoveryState (discovery: OAuthDiscoveryState): void {
    this.#options.state.discovery = discovery
  }

  discoveryState (): OAuthDiscoveryState | undefined {
    return this.#options.state.discovery
  }

  invalidateCredentials (scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    const { state } = this.#options
    if (scope === 'all' || scope === 'client') delete state.client
    if (scope === 'all' || scope === 'tokens') delete state.tokens
    if (scope === 'all' || scope === 'discovery') delete state.discovery
    if (scope === 'all' || scope === 'verifier') this.#verifier = ''
  }
}

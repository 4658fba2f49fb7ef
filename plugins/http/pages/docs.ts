/** The page of the interactive documentation. All files that it loads come from this server. */
export const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Skillet API</title>
<link rel="stylesheet" href="/docs/api/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/api/favicon-32x32.png">
<style>
  body { margin: 0; background: #fafafa }
  #key { max-width: 30rem; margin: 4rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif }
</style>
<body>
<form id="key" hidden>
  <p id="key-message">This server asks for an API key.</p>
  <label>API key <input type="password" autocomplete="off" required></label> <button>Show the documentation</button>
</form>
<div id="swagger-ui"></div>
<script src="/docs/api/swagger-ui-bundle.js"></script>
<script src="/docs/api/docs.js"></script>
</body>
</html>
`

/**
 * Loads the API description, and asks the user for the key where the server requires one; the key stays in this tab.
 */
export const docsScript = `'use strict'
const form = document.querySelector('#key')
const headers = () => {
  const key = sessionStorage.getItem('api-key')
  return key ? { 'X-API-Key': key } : {}
}

async function show () {
  const response = await fetch('/api/openapi.json', { headers: headers() })
  form.hidden = response.status !== 401
  if (response.status === 401) {
    if (sessionStorage.getItem('api-key')) document.querySelector('#key-message').textContent = 'This API key is not valid.'
    return
  }
  SwaggerUIBundle({
    spec: await response.json(),
    dom_id: '#swagger-ui',
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    layout: 'BaseLayout',
    requestInterceptor (request) {
      Object.assign(request.headers, { ...headers(), ...request.headers })
      return request
    }
  })
}

form.addEventListener('submit', event => {
  event.preventDefault()
  sessionStorage.setItem('api-key', form.querySelector('input').value)
  show()
})
show()
`

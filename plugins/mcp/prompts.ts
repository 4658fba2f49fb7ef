import type { McpServer } from '@modelcontextprotocol/server'
import type { Host } from './host.ts'
export function addPrompts (_server: McpServer, _host: Host): void {}
export function addCompletions (_server: McpServer, _host: Host): void {}

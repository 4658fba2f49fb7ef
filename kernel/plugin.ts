import type { Static, TObject } from 'typebox'
import type { Plugin, Slot } from './contracts.ts'

/**
 * Declares a plugin. Its `setup` returns what its slot asks for; its options, if it declares a schema, are
 * checked, given defaults and typed.
 */
export function definePlugin<S extends Slot, O extends TObject> (plugin: Omit<Plugin<S, Static<O>>, 'options'> & { readonly options: O }): Plugin<S>
export function definePlugin<S extends Slot> (plugin: Plugin<S> & { readonly options?: undefined }): Plugin<S>
export function definePlugin<S extends Slot> (plugin: Plugin<S>): Plugin<S> {
  return plugin
}

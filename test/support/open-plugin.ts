export { openPlugin, type Opened, type OpenOptions } from '../../plugins/testing/open-plugin.ts'

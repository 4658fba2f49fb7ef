/** Packages on PyPI whose name is not that of the module they bring, by the module. */
const packages: ReadonlyMap<string, string> = new Map(Object.entries({
  attr: 'attrs', Bio: 'biopython', bs4: 'beautifulsoup4', cairosvg: 'CairoSVG', cv2: 'opencv-python',
  Crypto: 'pycryptodome', cryptodome: 'pycryptodomex',
  dateutil: 'python-dateutil', discord: 'discord.py', distutils: 'setuptools', docx: 'python-docx',
  dotenv: 'python-dotenv', ebooklib: 'EbookLib',
  faiss: 'faiss-cpu', fitz: 'pymupdf', flask_cors: 'flask-cors', genai: 'google-genai', git: 'GitPython',
  github: 'PyGithub', gi: 'PyGObject', googleapiclient: 'google-api-python-client',
  google_auth_oauthlib: 'google-auth-oauthlib', grpc: 'grpcio', jose: 'python-jose', jwt: 'PyJWT',
  kafka: 'kafka-python', ldap: 'python-ldap', magic: 'python-magic',
  mpl_toolkits: 'matplotlib', multipart: 'python-multipart', mysql: 'mysql-connector-python', MySQLdb: 'mysqlclient',
  nacl: 'PyNaCl', OpenSSL: 'pyOpenSSL', osgeo: 'GDAL',
  pdfminer: 'pdfminer.six', PIL: 'pillow', pkg_resources: 'setuptools', pptx: 'python-pptx',
  psycopg2: 'psycopg2-binary', pwn: 'pwntools',
  pylab: 'matplotlib', pythoncom: 'pywin32', pywintypes: 'pywin32', rest_framework: 'djangorestframework',
  ruamel: 'ruamel.yaml', serial: 'pyserial',
  skimage: 'scikit-image', sklearn: 'scikit-learn', slack: 'slack_sdk', slugify: 'python-slugify',
  speech_recognition: 'SpeechRecognition', telegram: 'python-telegram-bot',
  usb: 'pyusb', websocket: 'websocket-client', win32api: 'pywin32', win32com: 'pywin32', wx: 'wxPython', yaml: 'pyyaml',
  zmq: 'pyzmq'
}))

/** The package that brings a Python module, where it is known to have another name. */
export function pythonPackageOf (module: string): string | undefined {
  return packages.get(module)
}
